const answer = await fetch("{{ url }}/api/v1/events", {
  method: "POST",
  headers: {
    Authorization: `Bearer ${process.env.RELAY_API_KEY}`,
    "Content-Type": "application/json",
    "Idempotency-Key": "order-1042-paid",
  },
  body: JSON.stringify({ type: "order.paid", data: { order: 1042, total: "19.90" } }),
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());
