# SPDX-License-Identifier: Apache-2.0
"""The wire of plugin registration, DRA and health, written from the tables of docs/spec/node.md chapter 4 alone.

No .proto file and no generated code: if these tables and those of the repository said different things, the tests
that drive this driver would notice.
"""
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import MessageFactory

_TYPES = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
}

_DRA = {
    "Claim": "namespace=1 string, uid=2 string, name=3 string",
    "NodePrepareResourcesRequest": "claims=1 rep Claim",
    "NodePrepareResourcesResponse": "claims=1 map NodePrepareResourceResponse",
    "NodePrepareResourceResponse": "devices=1 rep Device, error=2 string",
    "NodeUnprepareResourcesRequest": "claims=1 rep Claim",
    "NodeUnprepareResourcesResponse": "claims=1 map NodeUnprepareResourceResponse",
    "NodeUnprepareResourceResponse": "error=1 string",
}
_DEVICE = "request_names=1 rep string, pool_name=2 string, device_name=3 string, cdi_device_ids=4 rep string"
_HEALTH = {
    "NodeWatchResourcesRequest": "",
    "NodeWatchResourcesResponse": "devices=1 rep DeviceHealth",
    "DeviceHealth": "device=1 DeviceIdentifier, health=2 HealthStatus, last_updated_time=3 int64, "
                    "health_check_timeout_seconds=4 int64, message=5 string",
    "DeviceIdentifier": "pool_name=1 string, device_name=2 string",
}
PACKAGES = {
    "pluginregistration": {
        "InfoRequest": "",
        "PluginInfo": "type=1 string, name=2 string, endpoint=3 string, supported_versions=4 rep string",
        "RegistrationStatus": "plugin_registered=1 bool, error=2 string",
        "RegistrationStatusResponse": "",
    },
    "k8s.io.kubelet.pkg.apis.dra.v1": dict(_DRA, Device=_DEVICE + ", share_id=5 opt string"),
    "k8s.io.kubelet.pkg.apis.dra.v1beta1": dict(_DRA, Device=_DEVICE),
    "v1": _HEALTH,
    "v1alpha1": _HEALTH,
}
_HEALTH_STATUS = ["UNKNOWN", "HEALTHY", "UNHEALTHY"]


def _add_field(package, message, text):
    """One field of a table: `claims=1 rep Claim`."""
    name, _, rest = text.partition("=")
    words = rest.split()
    field = message.field.add(name=name, number=int(words[0]))
    field.label = field.LABEL_REPEATED if words[1] in ("rep", "map") else field.LABEL_OPTIONAL
    kind = words[-1]
    if words[1] == "opt":
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name="_" + name)
    if words[1] == "map":
        entry = message.nested_type.add(name=name.capitalize() + "Entry")
        entry.options.map_entry = True
        for number, (key, value) in enumerate((("key", "string"), ("value", kind)), 1):
            _add_field(package, entry, f"{key}={number} {value}")
        field.type, field.type_name = field.TYPE_MESSAGE, f".{package}.{message.name}.{entry.name}"
    elif kind in _TYPES:
        field.type = _TYPES[kind]
    else:
        field.type = field.TYPE_ENUM if kind == "HealthStatus" else field.TYPE_MESSAGE
        field.type_name = f".{package}.{kind}"


def load():
    """Message classes by their full names."""
    pool = descriptor_pool.DescriptorPool()
    for package, messages in PACKAGES.items():
        file = descriptor_pb2.FileDescriptorProto(name=package + ".proto", package=package, syntax="proto3")
        for name, fields in messages.items():
            message = file.message_type.add(name=name)
            for text in filter(None, (part.strip() for part in fields.split(","))):
                _add_field(package, message, text)
        if messages is _HEALTH:
            enum = file.enum_type.add(name="HealthStatus")
            for number, name in enumerate(_HEALTH_STATUS):
                enum.value.add(name=name, number=number)
        pool.Add(file)
    factory = MessageFactory(pool)
    return {f"{package}.{name}": factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}"))
            for package, messages in PACKAGES.items() for name in messages}
