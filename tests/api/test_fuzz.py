"""A fuzzer runs against the document: no input it invents gets a 500 or an undescribed answer."""

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from relay_web.web.api import OPERATIONS
from relay_web.web.api.operations import PREFIX, Operation
from tests.api.conftest import Api

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_no_invented_input_breaks_the_api(api: Api, operation: Operation) -> None:
    schema = schemathesis.openapi.from_wsgi(f"{PREFIX}/openapi.json", api.client.application)
    path = PREFIX + operation.path.replace("<", "{").replace(">", "}")
    cases = schema[path][operation.method].as_strategy()
    headers = {"Authorization": f"Bearer {api.key}"}

    @hypothesis.given(case=cases)
    @hypothesis.settings(max_examples=15, suppress_health_check=list(hypothesis.HealthCheck))
    def fuzz(case: schemathesis.Case) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    fuzz()
