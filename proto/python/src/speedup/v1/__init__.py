"""The messages of the API, compiled from its `.proto` files when the package is built."""
