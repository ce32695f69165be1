// A charge, a payout, the pages of the statement, a refund, and the webhooks of all of them, with nothing but
// what a JDK brings (17 or later). The exit code is 0 only if everything went as it should.
//
//   java Tour.java      (the variables that it reads are in ../README.md)
//
// The JDK has no JSON, so json() and member() do what a library does better. Sign the very bytes that it wrote.

import com.sun.net.httpserver.*;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.*;
import java.security.MessageDigest;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.UTF_8;

class Tour {
    static final String API = env("PIXD_URL", "http://127.0.0.1:8080") + "/api/external", ADMIN = env("PIXD_ADMIN", "http://127.0.0.1:8081");
    static final String HOOK = env("PIXD_HOOK", "127.0.0.1:9098"), RUN = UUID.randomUUID().toString().substring(0, 13); // new in each run
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet(); // a real receiver keeps the ids of events in its database
    static final BlockingQueue<String> EVENTS = new LinkedBlockingQueue<>();
    static volatile String hookSecret = ""; // known once the subscription is made

    static String env(String name, String otherwise) {
        return Objects.requireNonNull(System.getenv().getOrDefault(name, otherwise), name + " is not set: ../README.md says which variables are needed");
    }

    static void must(boolean holds, String what) {
        if (!holds) throw new IllegalStateException("not so: " + what);
    }

    static String member(String json, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        must(m.find(), name + " is in " + json);
        return m.group(1);
    }

    static String json(Object v) {
        if (v instanceof Map<?, ?> map) return new TreeMap<>(map).entrySet().stream().map(f -> json(f.getKey()) + ":" + json(f.getValue())).collect(Collectors.joining(",", "{", "}"));
        if (v instanceof List<?> list) return list.stream().map(Tour::json).collect(Collectors.joining(",", "[", "]"));
        return v instanceof Integer ? v.toString() : "\"" + v.toString().replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    static byte[] mac(String algorithm, byte[] key, byte[] message) throws Exception {
        Mac mac = Mac.getInstance(algorithm);
        mac.init(new SecretKeySpec(key, algorithm));
        return mac.doFinal(message);
    }

    /** Returns the header hmac of a body whose keys are in alphabetical order. */
    static String sign(String secret, byte[] body) throws Exception {
        return HexFormat.of().formatHex(mac("HmacSHA512", secret.getBytes(UTF_8), body));
    }

    static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request.timeout(Duration.ofSeconds(30)).build(), HttpResponse.BodyHandlers.ofString());
        must(answer.statusCode() / 100 == 2, answer.uri() + ": " + answer.statusCode() + " " + answer.body());
        return answer;
    }

    static HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(API + path)).header("Authorization", "ApiKey " + env("PIXD_CLIENT_ID", null) + ":" + env("PIXD_CLIENT_SECRET", null));
    }

    static HttpResponse<String> post(String path, Map<String, Object> fields, String idempotencyKey) throws Exception {
        byte[] body = json(fields).getBytes(UTF_8); // these very bytes are signed and sent
        return send(request(path).header("Content-Type", "application/json").header("hmac", sign(env("PIXD_CLIENT_SECRET", null), body))
            .header("Idempotency-Key", idempotencyKey).POST(HttpRequest.BodyPublishers.ofByteArray(body)));
    }

    /** Pays a charge in the simulator: a sandbox has this, and a merchant's program does not. */
    static void payAsCustomer(String qrCode) throws Exception {
        send(HttpRequest.newBuilder(URI.create(ADMIN + "/sim/payments")).header("Authorization", "Bearer " + env("PIXD_ADMIN_TOKEN", null))
            .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(json(Map.of("qr_code", qrCode)))));
    }

    /** Tells whether the engine signed a webhook, within the last five minutes. */
    static boolean verified(String secret, Headers headers, byte[] body) throws Exception {
        String timestamp = headers.getOrDefault("webhook-timestamp", List.of("")).get(0), id = headers.getFirst("webhook-id");
        if (secret.isEmpty() || !timestamp.matches("[0-9]{1,12}") || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) return false;
        byte[] signed = (id + "." + timestamp + "." + new String(body, UTF_8)).getBytes(UTF_8); // a body that is no UTF-8 is none of the engine's
        String want = "v1," + Base64.getEncoder().encodeToString(mac("HmacSHA256", Base64.getDecoder().decode(secret.substring("whsec_".length())), signed));
        return Arrays.stream(headers.getOrDefault("webhook-signature", List.of("")).get(0).split(" ")) // two after a change of the secret
            .anyMatch(one -> MessageDigest.isEqual(want.getBytes(UTF_8), one.getBytes(UTF_8)));
    }

    static void receive(HttpExchange x) {
        try (x) {
            byte[] body = x.getRequestBody().readNBytes(1 << 20);
            boolean good = verified(hookSecret, x.getRequestHeaders(), body);
            if (good && SEEN.add(x.getRequestHeaders().getFirst("webhook-id"))) EVENTS.add(new String(body, UTF_8));
            x.sendResponseHeaders(good ? 204 : 400, -1);
        } catch (Exception wrong) {
            System.err.println("a webhook: " + wrong);
        }
    }

    /** Waits for the event of a transaction, and drops others that come before it. */
    static String eventOf(String kind, String transaction) throws Exception {
        for (String event; (event = EVENTS.poll(20, TimeUnit.SECONDS)) != null;)
            if (member(event, "type").equals(kind) && event.contains("\"transaction_id\":\"" + transaction + "\"")) return event;
        throw new IllegalStateException(kind + " did not come for " + transaction);
    }
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(HOOK.split(":")[0], Integer.parseInt(HOOK.split(":")[1])), 0);
        server.createContext("/", Tour::receive);
        server.setExecutor(java.util.concurrent.Executors.newCachedThreadPool(task -> { Thread t = new Thread(task); t.setDaemon(true); return t; }));
        Thread starter = new Thread(server::start);
        starter.setDaemon(true); // so the server's threads are, and main's end is the program's
        starter.start();
        List<String> events = List.of("pix.charge.paid", "pix.payout.confirmed", "pix.refund.completed");
        String hook = post("/webhooks", Map.of("url", "http://" + HOOK + "/", "events", events), "hook-" + RUN).body();
        hookSecret = member(hook, "secret");
        System.out.println("subscribed " + member(hook, "id"));
        Headers forged = new Headers();
        forged.putAll(Map.of("Webhook-id", List.of("evt_x"), "Webhook-timestamp", List.of("" + Instant.now().getEpochSecond()), "Webhook-signature", List.of("v1,Zm9yZ2Vk")));
        must(!verified(hookSecret, forged, "{}".getBytes(UTF_8)), "a forged webhook is refused");
        Map<String, Object> coffees = Map.of("amount", 2500, "description", "2 caf\u00e9s <j\u00e1> \u2615", "external_id", "order-" + RUN);
        String charge = post("/pix/cash-in", coffees, "charge-" + RUN).body(), chargeID = member(charge, "transaction_id");
        payAsCustomer(member(charge, "qr_code"));
        String paid = eventOf("pix.charge.paid", chargeID);
        must(member(paid, "status").equals("completed") && member(paid, "amount").equals("250000"), "the charge is completed");
        System.out.println("charge paid " + chargeID + " " + member(paid, "amount"));
        Map<String, Object> order = Map.of("amount", 1000, "pix_key", "supplier+" + RUN + "@example.com", "external_id", "bill-" + RUN);
        HttpResponse<String> payout = post("/pix/cash-out", order, "payout-" + RUN), again = post("/pix/cash-out", order, "payout-" + RUN);
        must(again.body().equals(payout.body()) && again.headers().firstValue("X-Idempotent-Replay").isPresent(), "the repeat pays nothing");
        String paidOut = eventOf("pix.payout.confirmed", member(payout.body(), "transaction_id"));
        System.out.println("payout settled " + member(paidOut, "transaction_id") + " " + member(paidOut, "amount"));

        List<String> moved = new ArrayList<>();
        for (int page = 1, before = -5; moved.size() >= before + 5; page++) { // the last page has fewer than a whole one
            before = moved.size();
            String answer = send(request("/statement?per_page=5&page=" + page)).body();
            Pattern.compile("\"transaction_id\":\"([^\"]*)").matcher(answer).results().forEach(m -> moved.add(m.group(1)));
        }
        must(moved.containsAll(List.of(chargeID, member(paidOut, "transaction_id"))), "both are in the statement");
        System.out.println("statement read " + moved.size() + " movements");

        String refund = post("/pix/refund", Map.of("original_transaction_id", chargeID, "amount", 500), "refund-" + RUN).body();
        String given = eventOf("pix.refund.completed", member(refund, "transaction_id"));
        must(member(given, "status").equals("settled") && member(given, "remaining_refundable").equals("200000"), "the refund settles");
        System.out.println("refund settled " + member(refund, "transaction_id") + " " + member(given, "amount"));
        send(request("/webhooks/" + member(hook, "id")).DELETE());
    }
}
