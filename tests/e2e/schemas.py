# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of JSON, each checked against docs/formats/schema.json; not inside a guest, which has neither that file nor the time:
the same program writes the same lines on the host."""
import functools
import json
import os
import pathlib

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

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


@functools.lru_cache(maxsize=None)
def schema():
    return strict(json.loads((TOP / "docs" / "formats" / "schema.json").read_text()))


def definitions_of(kind):
    """Those of a `type`: comparisons have two."""
    names = [reference["$ref"].rpartition("/")[2] for reference in schema()["oneOf"]]
    return [name for name in names if schema()["$defs"][name]["properties"]["type"]["const"] == kind]


def shortened(value):
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in value[:ROWS]]
    return value


def mistakes(result):
    """Why a line is not as the schema says; empty: it is."""
    if os.environ.get("DWELL_SCHEMAS") == "0":
        return []
    import jsonschema

    found = []
    for name in definitions_of(result.get("type")):
        validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema()["$defs"]})
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
