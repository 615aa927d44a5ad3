# Requests per minute per crawler, statuses and error URLs with awk: the same job as one pass of `analyze`, for lines
# without hard cases. -v tokens='googlebot|bingbot'. Prints "name peak".
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
END { for (name in peak) print name, peak[name] }
