"""The league: every policy on a fixed set of instances, to answer "what should I use?"."""
