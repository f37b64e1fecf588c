"""The league: every policy on a fixed set of worlds, to answer "what should I use?"."""
