/** A day. Longer timeouts are refused wherever one can be given. */
export const MAX_TIMEOUT_SECONDS = 86_400;
