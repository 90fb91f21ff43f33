"""Relay's rules as plain values and functions: no database, no sockets, no web framework."""
