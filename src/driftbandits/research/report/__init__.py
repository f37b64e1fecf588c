"""How a resumable report is made: parts, content, typesetting, one HTML page."""
