"""Relay: webhook delivery for teams. Imports nothing, so that entry points can patch first."""

__version__ = "0.1.0"
