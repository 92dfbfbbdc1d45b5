-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `dwell serve --push clickhouse=URL` and `dwell report --format clickhouse` write: a row for each sample of /metrics, its
-- labels as columns, which are '' where a metric has no such label. clickhouse-client --multiquery < dwell.sql
CREATE DATABASE IF NOT EXISTS dwell;

CREATE TABLE IF NOT EXISTS dwell.samples
(
    time DateTime('UTC'),
    ms UInt16, -- and so many milliseconds
    host String,
    metric String,
    group String,
    state String,
    victim String,
    culprit String,
    kind String,
    le String,
    process String,
    cause String,
    unit String,
    container String,
    pod String,
    name String,
    trigger String,
    engine String,
    reason String,
    source String,
    states String,
    version String,
    value Float64
)
ENGINE = MergeTree
PARTITION BY toDate(time)
ORDER BY (metric, host, group, state, victim, culprit, kind, le, process, cause, engine, reason, time, ms);

-- From 19.6 on, rows can end by themselves:
-- ALTER TABLE dwell.samples MODIFY TTL time + INTERVAL 30 DAY;
