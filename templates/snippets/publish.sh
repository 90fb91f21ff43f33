curl --fail-with-body -sS "{{ url }}/api/v1/events" \
  -H "Authorization: Bearer $RELAY_API_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: order-1042-paid" \
  -d '{"type": "order.paid", "data": {"order": 1042, "total": "19.90"}}'
