require "json"
require "net/http"

answer = Net::HTTP.post(
  URI("{{ url }}/api/v1/events"),
  JSON.generate(type: "order.paid", data: { order: 1042, total: "19.90" }),
  "Authorization" => "Bearer #{ENV.fetch("RELAY_API_KEY")}",
  "Content-Type" => "application/json",
  "Idempotency-Key" => "order-1042-paid"
)
raise answer.body unless answer.is_a?(Net::HTTPSuccess)
puts answer.body
