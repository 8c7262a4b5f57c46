"""Strom carries smart-meter readings from the meter to people and services in real time."""

from importlib.metadata import version

__version__ = version("strom")
