<?php
// A charge, a payout, the pages of the statement, a refund, and the webhooks of all of them, with nothing but
// what PHP brings (8.1 or later, with or without extensions). The exit code is 0 only if everything went as it should.
//
//   php tour.php      (the variables that it reads are in ../README.md)
//
// A shop receives webhooks in a script of its web server: there the body is file_get_contents('php://input'), and the
// headers are $_SERVER['HTTP_WEBHOOK_ID'] and so on.

declare(strict_types=1);
error_reporting(E_ALL);
set_error_handler(fn ($no, $what, $file, $line) => throw new ErrorException($what, 0, $no, $file, $line));

function env(string $name, ?string $otherwise = null): string
{
    return getenv($name) ?: $otherwise ?? throw new RuntimeException("$name is not set: ../README.md says which variables are needed");
}

function must(bool $holds, string $what): void
{
    $holds || throw new RuntimeException("not so: $what");
}

define('API', env('PIXD_URL', 'http://127.0.0.1:8080') . '/api/external');
define('ADMIN', env('PIXD_ADMIN', 'http://127.0.0.1:8081'));
define('HOOK', env('PIXD_HOOK', '127.0.0.1:9098'));
define('RUN', bin2hex(random_bytes(6))); // makes the names of this run new ones

/** Returns the answer, and its header lines. */
function send(string $method, string $url, ?string $body, array $headers): array
{
    $context = stream_context_create(['http' => [
        'method' => $method, 'header' => ['Content-Type: application/json', ...$headers], 'content' => $body ?? '', 'ignore_errors' => true, 'timeout' => 30,
    ]]);
    $stream = fopen($url, 'r', false, $context);
    $answer = stream_get_contents($stream);
    $lines = stream_get_meta_data($stream)['wrapper_data']; // the status, then the headers
    must(str_contains($lines[0], ' 20'), "$url: $lines[0] $answer");
    return [json_decode($answer, true, 64, JSON_THROW_ON_ERROR), $lines];
}

/** The header hmac of a body whose keys are in alphabetical order. */
function sign(string $secret, string $body): string
{
    return hash_hmac('sha512', $body, $secret);
}

function call(string $method, string $path, array $fields = [], ?string $idempotencyKey = null): array
{
    $headers = ['Authorization: ApiKey ' . env('PIXD_CLIENT_ID') . ':' . env('PIXD_CLIENT_SECRET')];
    if ($method !== 'POST') {
        return send($method, API . $path, null, $headers);
    }
    ksort($fields, SORT_STRING); // of objects within, the keys too
    $body = json_encode((object) $fields, JSON_THROW_ON_ERROR); // these very bytes are signed and sent; (object): no fields are {}, not []
    $headers[] = 'hmac: ' . sign(env('PIXD_CLIENT_SECRET'), $body);
    if ($idempotencyKey !== null) {
        $headers[] = "Idempotency-Key: $idempotencyKey";
    }
    return send('POST', API . $path, $body, $headers);
}

/** Pays a charge in the simulator: a sandbox has this, and a merchant's program does not. */
function payAsCustomer(string $qrCode): void
{
    send('POST', ADMIN . '/sim/payments', json_encode(['qr_code' => $qrCode]), ['Authorization: Bearer ' . env('PIXD_ADMIN_TOKEN')]);
}

/** Tells whether the engine signed a webhook, within the last five minutes. */
function verified(string $secret, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(substr($secret, strlen('whsec_')), true);
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    $right = array_filter(explode(' ', $signatures), fn ($one) => hash_equals($want, $one)); // two after a change of the secret
    return $right !== [];
}

/** Takes one webhook from a listening socket. Returns its id and body; null: it was not verified. */
function receive($server, string $secret): ?array
{
    $connection = stream_socket_accept($server, 20);
    $headers = [];
    while (($line = rtrim((string) fgets($connection))) !== '') {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $headers[strtolower($name)] = trim($value);
    }
    $body = stream_get_contents($connection, min((int) ($headers['content-length'] ?? 0), 1 << 20));
    $good = verified($secret, $headers['webhook-id'] ?? '', $headers['webhook-timestamp'] ?? '', $headers['webhook-signature'] ?? '', $body);
    fwrite($connection, 'HTTP/1.1 ' . ($good ? '204 No Content' : '400 Bad Request') . "\r\nConnection: close\r\n\r\n");
    fclose($connection);
    return $good ? [$headers['webhook-id'], $body] : null;
}

/** Waits for the event of a transaction, and keeps others that come before it. */
function eventOf(string $kind, string $transactionID, $server, string $secret): array
{
    static $seen = []; // a real receiver keeps the ids of events that it has seen in its database
    for ($over = time() + 20; time() < $over;) {
        foreach ($seen as $event) {
            if ($event['type'] === $kind && $event['data']['transaction_id'] === $transactionID) {
                return $event['data'];
            }
        }
        [$id, $body] = receive($server, $secret) ?? [null, null];
        if ($id !== null) {
            $seen[$id] ??= json_decode($body, true, 64, JSON_THROW_ON_ERROR);
        }
    }
    throw new RuntimeException("$kind did not come for $transactionID");
}

$server = stream_socket_server('tcp://' . HOOK);
[$hook] = call('POST', '/webhooks', ['url' => 'http://' . HOOK . '/', 'events' => ['pix.charge.paid', 'pix.payout.confirmed', 'pix.refund.completed']]);
echo "subscribed $hook[id]\n";
must(!verified($hook['secret'], 'evt_x', (string) time(), 'v1,Zm9yZ2Vk', '{}'), 'a forged webhook is refused');

[$charge] = call('POST', '/pix/cash-in', ['amount' => 2500, 'description' => '2 cafés <já> ☕', 'external_id' => 'order-' . RUN]);
payAsCustomer($charge['qr_code']);
$paid = eventOf('pix.charge.paid', $charge['transaction_id'], $server, $hook['secret']);
must($paid['status'] === 'completed' && $paid['amount'] === 250000, 'the charge is completed');
echo "charge paid $paid[transaction_id] $paid[amount]\n";

$order = ['amount' => 1000, 'pix_key' => 'supplier+' . RUN . '@example.com', 'external_id' => 'bill-' . RUN];
[$payout] = call('POST', '/pix/cash-out', $order, 'payout-' . RUN);
[$again, $headers] = call('POST', '/pix/cash-out', $order, 'payout-' . RUN);
must($again === $payout && preg_grep('/^X-Idempotent-Replay: true$/i', $headers) !== [], 'the repeat pays nothing');
eventOf('pix.payout.confirmed', $payout['transaction_id'], $server, $hook['secret']);
echo "payout settled $payout[transaction_id] $payout[amount]\n";

$moved = [];
for ($page = 1, $count = 5; $count >= 5; $page++) { // the last page has fewer than a whole one
    [$answer] = call('GET', "/statement?per_page=5&page=$page");
    $moved = [...$moved, ...array_column($answer['data'], 'transaction_id')];
    $count = count($answer['data']);
}
must(array_diff([$charge['transaction_id'], $payout['transaction_id']], $moved) === [], 'both are in the statement');
echo 'statement read ' . count($moved) . " movements\n";

[$refund] = call('POST', '/pix/refund', ['original_transaction_id' => $charge['transaction_id'], 'amount' => 500], 'refund-' . RUN);
$given = eventOf('pix.refund.completed', $refund['transaction_id'], $server, $hook['secret']);
must($given['status'] === 'settled' && $given['remaining_refundable'] === 200000, 'the refund settles');
echo "refund settled $refund[transaction_id] $refund[amount]\n";
call('DELETE', "/webhooks/$hook[id]");
