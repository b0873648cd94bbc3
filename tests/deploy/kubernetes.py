"""Whether the manifests of a folder fit each other: selectors select pods, names of ports are those of containers, and who may
reach the coordinator is who shall.

    tests/deploy/kubernetes.py FOLDER
"""

import pathlib
import sys

import yaml

manifests = [
    manifest
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text())
]


def of_kind(*kinds):
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


pods = [workload["spec"]["template"] for workload in of_kind("StatefulSet", "DaemonSet", "Job")]


def selected(labels):
    return [pod for pod in pods if labels.items() <= pod["metadata"]["labels"].items()]


def port_names(chosen):
    return {port["name"] for pod in chosen for each in pod["spec"]["containers"] for port in each.get("ports", [])}


wrong = []


def require(holds, words):
    if not holds:
        wrong.append(words)


for policy in of_kind("NetworkPolicy"):
    name, spec = policy["metadata"]["name"], policy["spec"]
    chosen = selected(spec["podSelector"]["matchLabels"])
    require(chosen, f"policy {name} selects no pod")
    for rule in spec.get("egress", []):
        for to in rule["to"]:
            if "namespaceSelector" not in to:
                targets = selected(to["podSelector"]["matchLabels"])
                require(targets, f"policy {name} lets out to no pod")
                for port in rule["ports"]:
                    require(port["port"] in port_names(targets), f"policy {name}: no pod has the port {port['port']}")
    for rule in spec.get("ingress", []):
        for peer in rule["from"]:
            if "namespaceSelector" not in peer:
                require(selected(peer["podSelector"]["matchLabels"]), f"policy {name} lets in no pod")
        for port in rule["ports"]:
            require(port["port"] in port_names(chosen), f"policy {name}: no pod has the port {port['port']}")

# The metrics have no other guard than these rules.
coordinator = next(policy for policy in of_kind("NetworkPolicy") if policy["metadata"]["name"] == "coordinator")
for rule in coordinator["spec"]["ingress"]:
    if "metrics" in [port["port"] for port in rule["ports"]]:
        for peer in rule["from"]:
            labels = peer.get("namespaceSelector", {}).get("matchLabels")
            require(labels == {"kubernetes.io/metadata.name": "monitoring"}, f"{peer} reads the metrics")

for monitor in of_kind("ServiceMonitor"):
    labels = monitor["spec"]["selector"]["matchLabels"].items()
    services = [service for service in of_kind("Service") if labels <= service["metadata"]["labels"].items()]
    require(services, "the ServiceMonitor selects no service")
    for endpoint in monitor["spec"]["endpoints"]:
        names = [port["name"] for service in services for port in service["spec"]["ports"]]
        require(endpoint["port"] in names, f"no service has the port {endpoint['port']}")

if wrong:
    sys.exit("\n".join(f"error: {words}" for words in wrong))
