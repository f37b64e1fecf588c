"""The page that shows experiments as they run: what it remembers of each, its JSON, and its files."""
