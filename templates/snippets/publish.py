import json
import os
import urllib.request

event = {"type": "order.paid", "data": {"order": 1042, "total": "19.90"}}
request = urllib.request.Request(
    "{{ url }}/api/v1/events",
    data=json.dumps(event).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['RELAY_API_KEY']}",
        "Content-Type": "application/json",
        "Idempotency-Key": "order-1042-paid",
    },
)
with urllib.request.urlopen(request, timeout=10) as answer:
    print(answer.read().decode())
