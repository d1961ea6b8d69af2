import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFailedModels, isProviderFailure } from "../../src/domain/provider-failure.ts";

test("Another model is tried after an overload, a broken or unreachable provider, or a used-up account, and after nothing else", () => {
	for (const error of [
		'429: {"message":"slow down"}',
		"429 Too Many Requests",
		"500: scripted",
		'503 {"type":"error","error":{"type":"overloaded_error"}}',
		'529 {"type":"error"}',
		"Connection error.",
		"fetch failed",
		"Stream ended without finish_reason",
		"terminated",
		"read ECONNRESET",
		"Request timed out.",
		'429: {"code":"insufficient_quota"}',
		'400: {"message":"Your credit balance is too low to access the API"}',
		'403: {"message":"billing is not enabled for this project"}',
		"402 Payment Required",
		'Error: 502 {"error":"bad gateway"}',
	]) {
		assert.equal(isProviderFailure(error), true, error);
	}
	for (const error of [
		"",
		'400: {"message":"messages.1: a server error in your tool schema, port 5000"}',
		'401: {"message":"invalid key"}',
		"403 Forbidden",
		'404: {"message":"no such model: gpt-500"}',
		"413 prompt is too long: 250000 tokens > 200000",
		"422 unprocessable",
		"Unexpected token < in JSON",
		"No API key for mock",
	]) {
		assert.equal(isProviderFailure(error), false, error);
	}
});

test("Failed models are told with their words, at most 300 characters of each", () => {
	const failed = (id: string, message: string) => ({ provider: "mock", id, message });
	const told = describeFailedModels([failed("m1", "429 slow down"), failed("m2", "x".repeat(1_000))]);
	assert.equal(told, `mock/m1 failed: 429 slow down; mock/m2 failed: ${"x".repeat(300)}`);
});
