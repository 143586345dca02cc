"""The metrics that the panels of two public dashboards query, and the labels that they select or group by.

Labels that Prometheus adds to each target (namespace, pod, instance, job) are left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Query(NamedTuple):
    """One query of a panel."""

    panel: str
    metric: str
    labels: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    """Labels that the query selects by a value."""


_TOPIC: Final = ("topic",)
_PARTITION: Final = ("topic", "partition")
_BY_TOPIC: Final = "kafka_server_brokertopicmetrics_"

STRIMZI: Final = (
    Query("Brokers Online", "kafka_server_replicamanager_leadercount"),
    Query("Active Controllers", "kafka_controller_kafkacontroller_activecontrollercount"),
    Query("Unclean Leader Election Rate", "kafka_controller_controllerstats_uncleanleaderelections_total"),
    Query("Online Replicas", "kafka_server_replicamanager_partitioncount"),
    Query("Under Replicated Partitions", "kafka_server_replicamanager_underreplicatedpartitions"),
    Query("Partitions at minimum ISR", "kafka_cluster_partition_atminisr", _PARTITION),
    Query("Partitions under minimum ISR", "kafka_cluster_partition_underminisr", _PARTITION),
    Query("Offline Partitions Count", "kafka_controller_kafkacontroller_offlinepartitionscount"),
    Query("CPU Usage", "process_cpu_seconds_total"),
    Query("Open File Descriptors", "process_open_fds"),
    Query("Total Incoming Byte Rate", f"{_BY_TOPIC}bytesin_total", _TOPIC),
    Query("Total Outgoing Byte Rate", f"{_BY_TOPIC}bytesout_total", _TOPIC),
    Query("Incoming Messages Rate", f"{_BY_TOPIC}messagesin_total", _TOPIC),
    Query("Total Produce Request Rate", f"{_BY_TOPIC}totalproducerequests_total", _TOPIC),
    Query("Produce Request Rate", f"{_BY_TOPIC}failedproducerequests_total", _TOPIC),
    Query("Fetch Request Rate", f"{_BY_TOPIC}totalfetchrequests_total", _TOPIC),
    Query("Fetch Request Rate", f"{_BY_TOPIC}failedfetchrequests_total", _TOPIC),
    Query("Network Processor Avg Idle Percent", "kafka_network_socketserver_networkprocessoravgidle_percent"),
    Query(
        "Request Handler Avg Idle Percent",
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    ),
    Query("Disk Writes", "kafka_server_kafkaserver_linux_disk_write_bytes"),
    Query("Disk Reads", "kafka_server_kafkaserver_linux_disk_read_bytes"),
    Query(
        "Connection Count per Listener", "kafka_server_socket_server_metrics_connection_count", ("listener",)
    ),
    Query("Log Size", "kafka_log_log_size", _PARTITION),
)
"""Strimzi's dashboard of Kafka: `packaging/examples/metrics/grafana-dashboards/strimzi-kafka.json` of
strimzi/strimzi-kafka-operator at 1d637bf9.
"""

STRIMZI_ELSEWHERE: Final = {
    "Memory Usage": "container_memory_working_set_bytes is the container engine's",
    "Available Disk Space": "kubelet_volume_stats_available_bytes is Kubernetes'",
    "JVM Memory Used": "there is no JVM: process_resident_memory_bytes",
    "JVM GC Time": "there is no JVM",
    "JVM GC Count": "there is no JVM",
    "JVM Thread Count": "there is no JVM",
}
"""Panels of Strimzi's dashboard that do not concern a broker of kcompat, and the reason."""


def _times(request: str) -> tuple[Query, ...]:
    """Queries of the panels with the durations of one kind of request."""
    return tuple(
        Query(
            f"{request} {stage}",
            f"kafka_network_requestmetrics_{stage}timems",
            ("request", "quantile"),
            (("request", request), ("quantile", "0.75")),
        )
        for stage in ("requestqueue", "local", "remote")
    )


GRAFANA: Final = (
    Query("Active kafka controllers", "kafka_controller_kafkacontroller_activecontrollercount"),
    Query("Brokers count", "kafka_server_kafkaserver_brokerstate"),
    Query("Cluster messages in", f"{_BY_TOPIC}messagesin_total"),
    Query("Cluster bytes in", f"{_BY_TOPIC}bytesin_total"),
    Query("Cluster bytes out", f"{_BY_TOPIC}bytesout_total"),
    Query("ISR shrinks", "kafka_server_replicamanager_isrshrinks_total"),
    Query("ISR expands", "kafka_server_replicamanager_isrexpands_total"),
    Query("Online partitions", "kafka_server_replicamanager_partitioncount"),
    Query("Offline partitions", "kafka_controller_kafkacontroller_offlinepartitionscount"),
    Query("Under replicated partitions", "kafka_cluster_partition_underreplicated", _PARTITION),
    Query("Under min ISR partitions", "kafka_cluster_partition_underminisr", _PARTITION),
    Query("Unclean leader election", "kafka_controller_controllerstats_uncleanleaderelections_total"),
    Query("Preferred replica inbalance", "kafka_controller_kafkacontroller_preferredreplicaimbalancecount"),
    Query("Message conversion (producer)", f"{_BY_TOPIC}producemessageconversions_total"),
    Query("Message conversion (consumer)", f"{_BY_TOPIC}fetchmessageconversions_total"),
    Query("Topic start offset", "kafka_log_log_logstartoffset", _PARTITION),
    Query("Topic end offset", "kafka_log_log_logendoffset", _PARTITION),
    Query("Topic log size", "kafka_log_log_size", _PARTITION),
    *_times("Fetch"),
    *_times("FetchFollower"),
    *_times("Produce"),
)
"""Grafana's library for Kafka, in the names of its source `prometheus`: `kafka-observ-lib/signals` of
grafana/jsonnet-libs at 045aaa48.
"""

GRAFANA_ELSEWHERE: Final = {
    "response queue time": "a response is sent by the iteration of the event loop that has made it",
    "response time": "the kernel sends most responses at once; how long it takes is not measured",
    "Messages in per second": "kafka_topic_partition_current_offset is that of kafka_exporter",
    "Topic bytes in": "a name that neither the rules of the JMX exporter nor Strimzi's give",
    "Topic bytes out": "a name that neither the rules of the JMX exporter nor Strimzi's give",
    "Zookeeper": "a broker of kcompat keeps the metadata itself",
}
"""Panels of Grafana's library that do not concern a broker of kcompat, and the reason."""
