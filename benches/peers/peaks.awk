# Requests per minute per crawler, statuses and error URLs with awk: the same job as one pass of `analyze`, for lines
# without hard cases. -v tokens='googlebot|bingbot'. Prints what benches/peers/answers prints.
BEGIN { FS = "\"" }
{
    agent = tolower($6)
    if (!match(agent, tokens)) next
    name = substr(agent, RSTART, RLENGTH)
    minute = substr($1, index($1, "[") + 1, 17)
    n = ++count[name, minute]
    if (n > peak[name]) peak[name] = n
    split($3, field, " ")
    status[field[1]]++
    if (field[1] >= 400) {
        split($2, request, " ")
        waste[request[2]]++
    }
}
END {
    for (name in peak) print "peak", name, peak[name]
    for (code in status) print "status", code, status[code]
    top = "sort -k2,2nr | head -n 20"
    for (url in waste) print "waste", waste[url], url | top
    close(top)
}
