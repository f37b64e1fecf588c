"""One experiment in this process, no I/O: Session, its Decisions and events, why an arm was chosen, Online."""
