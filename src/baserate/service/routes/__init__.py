"""Routes: what the server does for each path. They read a request, ask a stream, and tell its answer."""
