"""The migrations, one file each, applied in the order of their revisions; none is ever changed after its release."""
