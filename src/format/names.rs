//! What the usual names of fields say: JSON keys, joined by dots where objects are nested.
//!
//! Names are compared in lower case, `-` as `_`. Where two keys of one line say the same, the lower rank counts: the
//! client that the server saw before one that a header names, a stamp in UTC before a local one.
//!
//! Example of its input: `request.headers.User-Agent`

use super::draft::Slot::{
    self, Bytes, Cache, Client, Forwarded, Headers, Host, Ident, Latency, Method, Path, Port, Protocol,
    Query, Referer, Request, Status, Target, Time, Upstream, User, UserAgent,
};
use super::draft::Unit::{Micros, Millis, Nanos, Seconds};

/// Longest key that is looked up.
const LONGEST: usize = 64;

/// What a key says, and its rank.
pub(super) fn of_path(path: &[u8]) -> Option<(Slot, u8)> {
    let mut buffer = [0; LONGEST];
    let key = buffer.get_mut(..path.len())?;
    for (to, from) in key.iter_mut().zip(path) {
        *to = if *from == b'-' { b'_' } else { from.to_ascii_lowercase() };
    }
    // Caddy and Traefik write this word each in its own way.
    match path {
        b"Duration" => return Some((Latency(Nanos), 0)),
        b"OriginDuration" => return Some((Upstream(Nanos), 0)),
        _ => {}
    }
    of_key(key)
}

fn of_key(key: &[u8]) -> Option<(Slot, u8)> {
    Some(match key {
        b"remote_addr" | b"remote_ip" | b"client_ip" | b"clientip" | b"clienthost" | b"ip" | b"client"
        | b"remote_host" | b"remotehost" | b"remoteip" | b"request.remote_ip" | b"source.ip"
        | b"client.ip" => (Client, 0),
        b"clientaddr"
        | b"remote"
        | b"peer"
        | b"source.address"
        | b"client.address"
        | b"request.remote_addr"
        | b"downstream_remote_address"
        | b"httprequest.remoteip" => (Client, 1),
        b"http_x_forwarded_for" | b"x_forwarded_for" | b"xff" | b"forwarded_for" => (Forwarded, 0),
        b"host" | b"http_host" | b"vhost" | b"requesthost" | b"request.host" | b"virtual_host"
        | b"authority" | b"url.domain" => (Host, 0),
        b"server_name" | b"requestaddr" | b"domain" | b"site" => (Host, 1),
        b"server_port" | b"vhost_port" => (Port, 0),
        b"remote_logname" | b"ident" => (Ident, 0),
        b"remote_user" | b"user" | b"clientusername" | b"user_id" | b"auth" | b"user.name" => (User, 0),
        b"time_iso8601" | b"startutc" | b"timestamp" | b"@timestamp" | b"ts" | b"msec" | b"start_time" => {
            (Time, 0)
        }
        b"time_local" | b"startlocal" | b"datetime" | b"date_time" | b"request_timestamp"
        | b"event.created" => (Time, 1),
        b"time" | b"date" => (Time, 2),
        b"request" | b"request_line" | b"requestline" | b"http.request.line" => (Request, 0),
        b"method"
        | b"request_method"
        | b"requestmethod"
        | b"request.method"
        | b"verb"
        | b"http_method"
        | b"http.request.method"
        | b"httprequest.requestmethod" => (Method, 0),
        b"request_uri"
        | b"request.uri"
        | b"requestpath"
        | b"url"
        | b"url.original"
        | b"request_url"
        | b"httprequest.requesturl"
        | b"uri_full" => (Target, 0),
        b"uri" | b"path" | b"request_path" | b"url.path" | b"document_uri" => (Path, 0),
        b"args" | b"query_string" | b"query" | b"url.query" => (Query, 0),
        b"server_protocol"
        | b"protocol"
        | b"request.proto"
        | b"requestprotocol"
        | b"proto"
        | b"http_version"
        | b"request_protocol"
        | b"httprequest.protocol" => (Protocol, 0),
        b"status"
        | b"downstreamstatus"
        | b"status_code"
        | b"response_code"
        | b"response"
        | b"code"
        | b"http.response.status_code"
        | b"httprequest.status"
        | b"response.status" => (Status, 0),
        b"originstatus" => (Status, 1),
        b"body_bytes_sent"
        | b"downstreamcontentsize"
        | b"size"
        | b"response_size"
        | b"body_bytes"
        | b"http.response.body.bytes"
        | b"httprequest.responsesize" => (Bytes, 0),
        b"bytes_sent" | b"bytes" | b"length" | b"resp_size" => (Bytes, 1),
        b"http_referer"
        | b"http_referrer"
        | b"referer"
        | b"referrer"
        | b"request_referer"
        | b"request.headers.referer"
        | b"http.request.referrer"
        | b"httprequest.referer" => (Referer, 0),
        b"http_user_agent"
        | b"user_agent"
        | b"useragent"
        | b"request_user_agent"
        | b"agent"
        | b"ua"
        | b"request.headers.user_agent"
        | b"user_agent.original"
        | b"httprequest.useragent" => (UserAgent, 0),
        b"request_time"
        | b"duration"
        | b"response_time"
        | b"latency"
        | b"rt"
        | b"request_duration"
        | b"httprequest.latency" => (Latency(Seconds), 0),
        b"duration_ms" | b"request_time_ms" | b"latency_ms" | b"response_time_ms" | b"elapsed_ms"
        | b"time_taken_ms" | b"time_taken" => (Latency(Millis), 1),
        b"duration_us" | b"request_time_us" | b"latency_us" | b"response_time_us" => (Latency(Micros), 1),
        b"event.duration" | b"duration_ns" => (Latency(Nanos), 1),
        b"upstream_response_time" | b"upstream_time" | b"urt" => (Upstream(Seconds), 1),
        b"upstream_cache_status" | b"cache_status" | b"x_cache" | b"cache" | b"cs" | b"sent_http_x_cache" => {
            (Cache, 0)
        }
        b"request.headers" => (Headers, 0),
        _ => return None,
    })
}

/// The variables of nginx and the columns of W3C share most names with JSON keys.
pub(super) fn of_variable(name: &[u8]) -> Option<(Slot, u8)> {
    match name {
        b"request_uri" => Some((Target, 0)),
        // `$host` is what was asked for, `$server_name` what is configured.
        b"server_name" => Some((Host, 1)),
        b"realip_remote_addr" => Some((Client, 1)),
        b"proxy_protocol_addr" => Some((Client, 2)),
        b"time_local"
        | b"time_iso8601"
        | b"msec"
        | b"remote_addr"
        | b"remote_user"
        | b"host"
        | b"http_host"
        | b"server_port"
        | b"request"
        | b"request_method"
        | b"uri"
        | b"document_uri"
        | b"args"
        | b"query_string"
        | b"server_protocol"
        | b"status"
        | b"body_bytes_sent"
        | b"bytes_sent"
        | b"http_referer"
        | b"http_user_agent"
        | b"http_x_forwarded_for"
        | b"request_time"
        | b"upstream_response_time"
        | b"upstream_cache_status"
        | b"sent_http_x_cache" => of_key(name),
        _ => None,
    }
}
