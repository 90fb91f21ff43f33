"""The figures that Relay promises, measured: `make bench`. README.md says how to read them."""
