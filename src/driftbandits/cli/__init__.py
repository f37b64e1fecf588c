"""The command line, one file per group of commands; ``driftbandits --help`` lists them."""
