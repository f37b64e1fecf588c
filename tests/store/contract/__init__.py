"""Tests that both kinds of Store pass, a file for each subject; ``test_store_contract`` runs them."""
