"""Finds what a client made of an earlier description of the API misses in a later one, or does not understand.

usage: api_differences.py EARLIER.json THIS.json

Members, paths and answers that are new are no difference: clients ignore what they do not know. In answers, a member that is gone or no
longer required, and a value that an enumeration did not have, are differences. In requests, a member that is gone or newly required, and
a value that an enumeration no longer has, are differences.
"""

import json
import sys


def reference(schema):
    """Returns the name of the schema to which this one refers, if there is one."""
    choices = [choice for choice in schema.get("oneOf", [schema]) if choice.get("type") != "null"]
    return choices[0]["$ref"].rsplit("/", 1)[1] if len(choices) == 1 and "$ref" in choices[0] else None


class Comparison:
    """Both descriptions, and the differences between them."""

    def __init__(self, earlier, this):
        self.descriptions, self.differences, self.seen = (earlier, this), [], set()

    def resolved(self, schemas):
        """Follows references and merges `allOf`, for each of the two schemas."""
        return [self.whole(description, schema) for description, schema in zip(self.descriptions, schemas)]

    def whole(self, description, schema):
        if "$ref" in schema:
            schema = description["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        parts = [self.whole(description, part) for part in schema.get("allOf", [])]
        # An optional member is one of null and its schema.
        choices = [choice for choice in schema.get("oneOf", []) if choice.get("type") != "null"]
        if len(choices) == 1:
            parts.append(self.whole(description, choices[0]))
        whole = {"properties": {}, "required": set(), "enum": set(), "types": set()}
        if choices and len(choices) < len(schema["oneOf"]):
            whole["types"].add("null")
        for part in [*parts, schema]:
            types = part.get("type", [])
            whole["types"] |= part.get("types", set()) | set([types] if isinstance(types, str) else types)
            whole["properties"].update(part.get("properties", {}))
            whole["required"] |= set(part.get("required", []))
            whole["enum"] |= set(part.get("enum", []))
            whole.update({key: part[key] for key in ("items", "oneOf", "additionalProperties") if key in part})
        return whole

    def found(self, difference):
        if difference not in self.differences:
            self.differences.append(difference)

    def schemas(self, name, pair, is_answer):
        # A schema that contains itself has one name, so that this ends.
        name = next(filter(None, map(reference, pair)), name)
        key = (name, is_answer, json.dumps(pair))
        if key in self.seen:
            return
        self.seen.add(key)
        earlier, this = self.resolved(pair)
        for member, schema in earlier["properties"].items():
            if member not in this["properties"]:
                self.found(f"{name}.{member} is gone")
                continue
            self.schemas(f"{name}.{member}", (schema, this["properties"][member]), is_answer)
        changed = earlier["required"] - this["required"] if is_answer else this["required"] - earlier["required"]
        for member in sorted(changed):
            self.found(f"{name}.{member} is {'no longer' if is_answer else 'now'} required")
        for kind in ("enum", "types"):
            other = this[kind] - earlier[kind] if is_answer else earlier[kind] - this[kind]
            for value in sorted(map(str, other)) if earlier[kind] and this[kind] else []:
                self.found(f"{name} {'can be' if is_answer else 'cannot be'} {value}")
        for kind in ("items", "additionalProperties"):
            if isinstance(earlier.get(kind), dict) and isinstance(this.get(kind), dict):
                self.schemas(f"{name}[]", (earlier[kind], this[kind]), is_answer)
        for earlier_choice, choice in zip(earlier.get("oneOf", []), this.get("oneOf", [])):
            self.schemas(name, (earlier_choice, choice), is_answer)

    def contents(self, name, pair, is_answer):
        for media_type, content in pair[0].get("content", {}).items():
            if media_type not in pair[1].get("content", {}):
                self.found(f"{name} has no {media_type}")
                continue
            self.schemas(name, (content["schema"], pair[1]["content"][media_type]["schema"]), is_answer)

    def operations(self):
        earlier, this = self.descriptions
        for path, methods in earlier["paths"].items():
            for method, operation in methods.items():
                name = f"{method.upper()} {path}"
                now = this["paths"].get(path, {}).get(method)
                if now is None:
                    self.found(f"{name} is gone")
                    continue
                parameters = {(each["in"], each["name"]) for each in now.get("parameters", [])}
                for each in operation.get("parameters", []):
                    if (each["in"], each["name"]) not in parameters:
                        self.found(f"{name}: the parameter {each['name']} is gone")
                self.contents(name, (operation.get("requestBody", {}), now.get("requestBody", {})), False)
                for status, answer in operation["responses"].items():
                    self.contents(f"{name} {status}", (answer, now["responses"].get(status, answer)), True)


def differences(earlier, this):
    """Returns the differences, as sentences."""
    comparison = Comparison(earlier, this)
    comparison.operations()
    return comparison.differences


if __name__ == "__main__":
    for difference in differences(*(json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])):
        print(difference)
