<?php
$request = curl_init("{{ url }}/api/v1/events");
curl_setopt_array($request, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        "Authorization: Bearer " . getenv("RELAY_API_KEY"),
        "Content-Type: application/json",
        "Idempotency-Key: order-1042-paid",
    ],
    CURLOPT_POSTFIELDS => json_encode(
        ["type" => "order.paid", "data" => ["order" => 1042, "total" => "19.90"]]
    ),
]);
$answer = curl_exec($request);
if (curl_getinfo($request, CURLINFO_RESPONSE_CODE) !== 202) {
    throw new RuntimeException((string) $answer);
}
echo $answer, "\n";
