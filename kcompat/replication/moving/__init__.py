"""Moving replicas between the log directories of this broker (AlterReplicaLogDirs)."""
