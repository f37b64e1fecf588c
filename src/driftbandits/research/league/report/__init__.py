"""How the league's resumable report is made: parts, content, typesetting, one HTML page."""
