"""The `kcompat` command: one module per sub-command, imported when the command line names it."""
