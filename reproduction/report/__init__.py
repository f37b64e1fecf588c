"""The report: templates with all its prose, figures, and what turns both into one page."""
