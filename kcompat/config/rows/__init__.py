"""The rows of the configuration table, by subject; `kcompat.config.table` joins them."""
