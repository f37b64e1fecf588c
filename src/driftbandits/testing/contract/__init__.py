"""The tests of ``StoreContract``, a file for each subject."""
