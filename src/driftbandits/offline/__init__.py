"""What another policy would have earned, told from the log of the one that ran; and when a log can't tell."""
