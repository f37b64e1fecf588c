"""The only room that knows numba: kernels and how they are compiled, loops around them, and the Player."""
