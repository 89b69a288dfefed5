"""Is it lossless? Exact enumeration, statistics on the real loop, and wrong rules that must be caught."""
