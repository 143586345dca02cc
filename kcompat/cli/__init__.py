"""The `kcompat` command: one module per sub-command, imported when it is asked for."""
