"""What another policy would have earned, estimated from the log of the one that ran; and when a log can't say."""
