"""Reads OpenMetrics from standard input with Prometheus' own client library, and writes what it has read as JSON:
[{"name", "type", "unit", "help", "samples": [{"name", "labels", "value"}]}]."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = [
    {
        "name": family.name,
        "type": family.type,
        "unit": family.unit,
        "help": family.documentation,
        "samples": [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples],
    }
    for family in text_string_to_metric_families(sys.stdin.read())
]
json.dump(families, sys.stdout)
