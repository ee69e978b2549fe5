"""How far the estimates of `baserate.trust` can be trusted, measured."""
