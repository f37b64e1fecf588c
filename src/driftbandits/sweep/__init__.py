"""Regret over a grid of policies, instances and parameters: on threads or a cluster, in files that can be resumed."""
