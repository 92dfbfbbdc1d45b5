# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of JSON, each checked against docs/formats/schema.json."""
import json
import pathlib

import jsonschema

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

SCHEMA = json.loads((TOP / "docs" / "formats" / "schema.json").read_text())

#: Of longer lists only the beginning is checked: all rows are written by the same code.
ROWS = 20


def strict(schema):
    """The same, but a key that is not in it is a mistake."""
    for definition in schema["$defs"].values():
        definition["additionalProperties"] = False
        for field in definition["properties"].values():
            if "properties" in field:
                field["additionalProperties"] = False
    return schema


DEFINITIONS = strict(json.loads(json.dumps(SCHEMA)))["$defs"]


def definitions_of(kind):
    """Those of a `type`: comparisons have two."""
    names = [reference["$ref"].rpartition("/")[2] for reference in SCHEMA["oneOf"]]
    return [name for name in names if DEFINITIONS[name]["properties"]["type"]["const"] == kind]


def shortened(value):
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in value[:ROWS]]
    return value


def mistakes(result):
    """Why a line is not as the schema says; empty: it is."""
    found = []
    for name in definitions_of(result.get("type")):
        validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS})
        errors = [f"{name}: {list(error.absolute_path)}: {error.message[:300]}" for error in validator.iter_errors(shortened(result))]
        if not errors:
            return []
        found += errors
    return found or [f"no result of dwell is of the type {result.get('type')!r}"]


def read(text):
    """The objects in lines of JSON."""
    results = [json.loads(line) for line in text.splitlines()]
    for result in results:
        assert not mistakes(result), mistakes(result)[:5]
    return results
