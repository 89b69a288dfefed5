"""One file a command: each has ``run(args) -> int``, imported only when it is asked for."""
