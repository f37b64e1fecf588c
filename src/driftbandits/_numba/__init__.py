"""The only subpackage that knows numba: copies of kernels, loops, entries, the cache, random numbers and the Player."""
