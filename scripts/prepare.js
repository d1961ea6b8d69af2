/**
 * What npm does after it has installed everything: it builds the bundle, with which pi starts 0.2 s sooner. Where the tools
 * for that were left out, as `pi install git:…` does, pi loads the source.
 */
const canBuild = await import("esbuild").then(
	() => true,
	() => false,
);
if (canBuild) await import("./build.ts");
