/** 所有设置的说明。 The sentences that the configuration declares of its keys, and its units. */

export default {
  "Model that decides. Empty: the model of the conversation.":
    "由哪个模型决定。留空：使用对话的模型。",
  "Kinds of background runs that triage may start.": "分流可以启动的后台任务类型。",
  "A decision that takes longer is ignored.": "超过这个时间的决定会被忽略。",
  "What happens without a valid decision: act as usual, or only reply.":
    "没有有效决定时：照常行动，或只回复。",
  "Model that answers: PROVIDER/MODEL, `embedded`, or `auto` for the first one available.":
    "负责回答的模型，写作 PROVIDER/MODEL、`embedded`，或用 `auto` 自动选择。",
  "Name that the assistant uses for itself.": "助手的自称。",
  "How the assistant talks: the name of a persona.": "助手的说话方式：人设的名称。",
  "Models to try in this order, for the rest of an answer, when the model fails.":
    "模型失败时，在这次回答的剩余部分依次尝试的备用模型。",
  "How freely the model chooses its words.": "模型用词的随意程度。",
  "How long the model thinks before it answers; more costs time and tokens. default: the provider chooses.":
    "模型回答前思考多久；思考越多，耗时和令牌越多。default：由提供商决定。",
  "Longest answer of one model call.": "单次模型调用的最长回答。",
  "Most model calls in one run.": "一次运行中模型调用的上限。",
  "Most rounds of tool calls in one run.": "一次运行中工具调用轮数的上限。",
  "Most tool calls in one run.": "一次运行中工具调用次数的上限。",
  "Longest working time of one run. Waiting for a person does not count.":
    "一次运行的最长工作时间，不含等待人的时间。",
  "Most messages that the model sees before older ones are summarized.":
    "模型能看到的消息数上限；超出后，更早的消息会被总结。",
  "Most answers that are made at the same time, over all chats.":
    "所有聊天中同时进行的回答数上限。",
  "Most background tasks that run at the same time.": "同时运行的后台任务数上限。",
  "What happens to a message that arrives during an answer: it joins the answer, waits for a separate answer, is collected with later ones, or interrupts.":
    "回答进行中收到消息时：并入当前回答、排队单独回答、与后续消息一起收集，或打断当前回答。",
  "How long `collect` waits for more messages.": "`collect` 等待更多消息的时间。",
  "Most messages that may wait in one conversation.": "一个对话中可排队的消息数上限。",
  "How often a failed tool call without effects is repeated.":
    "没有副作用的工具调用失败后重试的次数。",
  "Pause before each repeated tool call.": "每次重试工具调用前的等待时间。",
  "Whether each chat, each thread or each sender has one conversation.":
    "什么算一个对话：一个聊天、每个话题串，或每个发送者。",
  "Model that transcribes voice messages. Empty: recordings stay files.":
    "转写语音消息的模型。留空：录音仅保存为文件。",
  "Whether a model decides before each answer how to handle the message.":
    "回答前是否先由模型决定如何处理消息。",
  "How triage decides.": "分流如何决定。",
  "What memory adds to a message: nothing, what fits, or what the model asks for.":
    "记忆为消息补充什么：不补充、补充相关内容，或由模型索取。",
  "Most memories that are added at a time.": "每次最多补充的记忆条数。",
  "How often the model may ask memory before it answers.": "模型在回答前最多可询问记忆的次数。",
  "Whether a quiet conversation is summarized for memory.": "对话安静下来后是否总结并存入记忆。",
  "Most that one run may cost, with everything it starts. 0: no limit.":
    "一次运行（含其启动的一切）的最高费用。0：不限。",
  "Price of a million input tokens.": "每百万输入 token 的价格。",
  "Price of a million output tokens.": "每百万输出 token 的价格。",
  "Price of a million input tokens from the provider's cache.":
    "每百万命中缓存的输入 token 的价格。",
  "Price of a million input tokens put into the provider's cache.":
    "写入缓存的每百万输入 token 的价格。",
  "Size of the model's context window.": "模型上下文窗口的大小。",
  "Whether the model can call tools.": "模型能否调用工具。",
  "Whether the model can see pictures.": "模型能否看图。",
  "What the model costs.": "模型的价格。",
  "API key of this provider.": "该提供商的 API 密钥。",
  "Base URL of an OpenAI-compatible endpoint. Empty: the provider's own.":
    "兼容 OpenAI 的接口地址。留空：使用提供商自己的地址。",
  "How nanobot talks to the provider: `lean` (OpenAI-compatible), `anthropic`, `gemini`, `litellm`, or a package's client. `auto`: what fits the provider.":
    "nanobot 与提供商通信的方式：`lean`（OpenAI 兼容）、`anthropic`、`gemini`、`litellm`，或扩展包提供的客户端。`auto`：适合该提供商的方式。",
  "Prices of models, where the built-in table is wrong or has none.":
    "模型价格，用于内置价格表有误或缺失时。",
  "Abilities and prices of models, where the built-in table is wrong or has none.":
    "模型能力与价格，用于内置表有误或缺失时。",
  "How long an answer may take to begin. 0: 120 s, or 600 s for a local address.":
    "回答开始前最长可等待的时间。0：120 秒，本地地址为 600 秒。",
  "Further keys of a package's client.": "扩展包客户端的其他设置。",
  "Whether the assistant remembers things beyond a conversation.": "助手是否在对话之外保留记忆。",
  "Whether new memories are kept at once or wait for your approval.":
    "新记忆立即保存，还是等待你的批准。",
  "Model that finds memories by meaning. Empty: words alone; `local`: a small one on this machine. A provider's model is sent every memory.":
    "按含义查找记忆的模型。留空：只按词语；`local`：本机上的小模型。提供商的模型会收到每条记忆。",
  "How similar a memory must be to be found. 0: the model's usual value.":
    "记忆需要多相似才会被找到。0：模型的默认值。",
  "Longest memory file that is part of a prompt.": "提示中记忆文件的最大长度。",
  "What the assistant hears in this group. Empty: as its channel has it.":
    "助手在这个群里听取什么。留空：与频道相同。",
  "People who are members in this group only.": "仅在此群中是成员的人。",
  "Adapter of this channel, by default the table's name.": "此频道的适配器，默认是表的名称。",
  "Whether this channel is served.": "是否启用此频道。",
  "Ids of people who may do everything.": "可以做任何事的人的 id。",
  "Ids of people who may talk to the assistant. `*`: everyone.":
    "可以与助手交谈的人的 id。`*`：所有人。",
  "Ids of people who may talk to the assistant without tools. `*`: everyone.":
    "可以与助手交谈但不能使用工具的人的 id。`*`：所有人。",
  "Whether strangers get a code with which an owner can let them in.":
    "陌生人是否会得到配对码，供所有者放行。",
  "What the assistant hears in groups: mentions, everything, or nothing.":
    "助手在群里听取什么：被提及时、全部，或都不听。",
  "How a message in a group begins that is meant for the assistant.":
    "群消息以什么开头表示是对助手说的。",
  "Groups with separate settings.": "有单独设置的群。",
  "Whether answers are shown while they are written.": "是否在书写时就显示回答。",
  "Whether a preview shows the tool at work.": "预览中是否显示正在使用的工具。",
  "Whether messages get reactions that show their state.": "是否用表情回应显示消息状态。",
  "Whether links in answers show a preview.": "回答中的链接是否显示预览。",
  "Largest file that is fetched; the sender of a larger one is told.":
    "会下载的最大文件；文件更大时会告知发送者。",
  "Further keys of the adapter.": "适配器的其他设置。",
  "Whether the page and the HTTP API are served.": "是否提供页面和 HTTP API。",
  "Address to listen on.": "监听的地址。",
  "Port to listen on. 0: any free one. If the default is taken, the next free one, unless `hosts`, `public_url` or `base_path` is set.":
    "监听的端口。0：任意空闲端口。默认端口被占用时使用下一个空闲端口，除非设置了 `hosts`、`public_url` 或 `base_path`。",
  "Token of the owner for the API. Empty: made at the first start.":
    "所有者使用 API 的令牌。留空：首次启动时生成。",
  "Host names of the gateway, in addition to addresses and localhost, as in assistant.example.org or *.example.org.":
    "网关的主机名（IP 地址和 localhost 之外），例如 assistant.example.org 或 *.example.org。",
  "Port for health checks of a process without the role web. 0: none.":
    "没有 web 角色的进程提供健康检查的端口。0：不提供。",
  "Names of tokens whose words over /v1 and /mcp count as the owner's.":
    "令牌名称：这些程序通过 /v1 和 /mcp 说的话视为所有者本人所说。",
  "Whether programs may approve calls and answer questions over MCP.":
    "程序是否可以通过 MCP 批准调用并回答问题。",
  "Addresses of proxies whose X-Forwarded headers count.": "其 X-Forwarded 头可信的代理地址。",
  "Address that people use, if a proxy has another one than this machine.":
    "人们使用的地址，适用于代理地址与本机不同的情况。",
  "Whether notifications on phones contain the question.":
    "手机通知是否包含请求的内容，而不只是提示有请求。",
  "Path below which a proxy serves the gateway. Empty: the path of `public_url`.":
    "代理提供网关的路径前缀。留空：使用 `public_url` 的路径。",
  "Most tokens a day. 0: no limit.": "每天 token 上限。0：不限。",
  "Most dollars a day. 0: no limit.": "每天费用上限。0：不限。",
  "Most model calls a day. 0: no limit.": "每天模型调用次数上限。0：不限。",
  "Most tokens a day for everything together. 0: no limit.": "全部合计每天 token 上限。0：不限。",
  "Most dollars a day for everything together. 0: no limit.": "全部合计每天费用上限。0：不限。",
  "Most model calls a day for everything together. 0: no limit.":
    "全部合计每天模型调用次数上限。0：不限。",
  "Share of a limit at which people are warned.": "达到上限的多少比例时发出提醒。",
  "Time zone of jobs, of the times in prompts, of quiet hours and of days, as in Europe/Berlin. Empty: that of this machine.":
    "任务、提示中的时间、安静时段和每日统计所用的时区，如 Europe/Berlin。留空：本机时区。",
  "Time zone in which a day begins. Empty: `agent.zone`.":
    "一天从哪个时区算起。留空：使用 `agent.zone`。",
  "Hour at which a day begins.": "一天从几点开始。",
  "Limits of each person.": "每个人的上限。",
  "Limits of each chat.": "每个聊天的上限。",
  "Limits of each job.": "每个定时任务的上限。",
  "Limits of single people.": "个别人的上限。",
  "Limits of single chats.": "个别聊天的上限。",
  "Limits of single jobs.": "个别定时任务的上限。",
  "Limits of single models.": "个别模型的上限。",
  "Whether this is watched.": "是否监视。",
  "What the model is asked to do about it.": "要求模型对此做什么。",
  "Value above which it begins.": "超过此值时开始。",
  "Value below which it ends.": "低于此值时结束。",
  "Mount points to watch. Empty: all disks.": "要监视的挂载点。留空：所有磁盘。",
  "Disk use at which it begins.": "磁盘占用达到此值时开始。",
  "Disk use at which it ends.": "磁盘占用低于此值时结束。",
  "How long it must last.": "需持续多久。",
  "Memory use at which it begins.": "内存占用达到此值时开始。",
  "Memory use at which it ends.": "内存占用低于此值时结束。",
  "Swap use at which it begins.": "交换空间占用达到此值时开始。",
  "Swap use at which it ends.": "交换空间占用低于此值时结束。",
  "Load of each core at which it begins; 100 means that all cores are busy.":
    "每个核心的负载达到此值时开始；100 表示全部繁忙。",
  "Load of each core at which it ends.": "每个核心的负载低于此值时结束。",
  "Names of systemd units to watch.": "要监视的 systemd 单元名称。",
  "Names of systemd units to ignore.": "要忽略的 systemd 单元名称。",
  "Whether units of nanobot's own user are watched too.": "是否也监视 nanobot 所属用户的单元。",
  "How often to look.": "检查间隔。",
  "Name of the program as `ps` shows it. Empty: the name of the table.":
    "`ps` 中显示的程序名。留空：表的名称。",
  "File that holds the number of the process.": "保存进程号的文件。",
  "Files and folders to watch.": "要监视的文件和文件夹。",
  "Patterns of files that count.": "计入的文件模式。",
  "Patterns of files that do not count.": "不计入的文件模式。",
  "Whether folders within folders are watched.": "是否监视子文件夹。",
  "Log file to read.": "要读取的日志文件。",
  "Regular expression that finds the lines that count.": "用于找出相关行的正则表达式。",
  "Whether capital and small letters are the same.": "是否忽略大小写。",
  "Whether this machine is watched.": "是否监视这台机器。",
  "Chat that gets the answers, as CHANNEL:ID. Empty: only the log.":
    "接收回答的聊天，写作 CHANNEL:ID。留空：仅写入日志。",
  "What the model is asked to do about an event.": "要求模型对事件做什么。",
  "Most events that reach the model in an hour.": "每小时送达模型的事件上限。",
  "Events within this time are told together.": "这段时间内的事件会一起告知。",
  "How often levels are measured.": "测量间隔。",
  "Use of disks.": "磁盘占用。",
  "Use of memory.": "内存占用。",
  "Use of swap space.": "交换空间占用。",
  "Load of the processors.": "处理器负载。",
  "Failed units of systemd.": "失败的 systemd 单元。",
  "Programs that should run.": "应当运行的程序。",
  "Changes of files.": "文件变更。",
  "New lines of logs.": "日志新行。",
  "Whether BOOT.md and SHUTDOWN.md are carried out.": "是否执行 BOOT.md 和 SHUTDOWN.md。",
  "Longest time for BOOT.md.": "BOOT.md 的最长时间。",
  "Longest time for SHUTDOWN.md, within `drain_seconds`.":
    "执行 SHUTDOWN.md 的最长时间，不超过 `drain_seconds`。",
  "Whether channels wait until BOOT.md is done.": "频道是否等 BOOT.md 完成。",
  "Whether the assistant looks after HEARTBEAT.md from time to time.":
    "助手是否定期处理 HEARTBEAT.md。",
  "How often the assistant looks.": "处理间隔。",
  "Chat that hears of it, as CHANNEL:ID. Empty: where an owner wrote last.":
    "接收消息的聊天，写作 CHANNEL:ID。留空：所有者最后发言处。",
  "When quiet hours begin, as 22:00. Empty: none.": "安静时段开始时间，如 22:00。留空：无。",
  "When quiet hours end, as 08:00.": "安静时段结束时间，如 08:00。",
  "Title of a conversation: its first sentence, or one that the model writes.":
    "对话的标题：第一句话，或由模型撰写。",
  "Time zone of the quiet hours. Empty: `agent.zone`.": "安静时段的时区。留空：使用 `agent.zone`。",
  "No heartbeat for this long after a message in the chat.":
    "聊天中有人发言后的这段时间内不做任何事。",
  "Model for it. Empty: the usual one.": "使用的模型。留空：默认模型。",
  "Most model calls each time.": "每次模型调用的上限。",
  "Longest working time each time.": "每次的最长工作时间。",
  "Silence after which the assistant says hello. 0: never.": "沉默多久后助手打招呼。0：从不。",
  "Whether this webhook accepts deliveries.": "此 webhook 是否接受投递。",
  "How the sender signs its deliveries.": "发送方的签名方式。",
  "Secret that the sender signs with or shows.": "发送方用于签名或出示的密钥。",
  "What the model is asked to do with a delivery. Empty: it gets the event and its content.":
    "让模型对收到的事件做什么。留空：模型得到事件及其内容。",
  "Kinds of events that count. Empty: all.": "计入的事件类型。留空：全部。",
  "Where runs happen: in a separate conversation, or in the chat's conversation.":
    "在独立对话中运行，还是在聊天的对话中运行。",
  "Role that the sender has.": "发送方的角色。",
  "Tools that may be used. Empty: all.": "可用的工具。留空：全部。",
  "Most model calls for one delivery. 0: as usual.": "一次投递的模型调用上限。0：按默认。",
  "Largest delivery that is accepted.": "可接受的最大投递。",
  "Most deliveries in a minute.": "每分钟投递上限。",
  "Header that holds the signature.": "包含签名的请求头。",
  "Header that holds the time.": "包含时间的请求头。",
  "Most notifications in an hour. 0: no limit.": "每小时主动消息上限。0：不限。",
  "Most notifications in a day. 0: no limit.": "每天主动消息上限。0：不限。",
  "Most notifications in an hour, in each chat. 0: no limit.":
    "每个聊天每小时主动消息上限。0：不限。",
  "Most notifications in a day, in each chat. 0: no limit.": "每个聊天每天主动消息上限。0：不限。",
  "Trigger of a package, by default the table's name.": "扩展包的触发器，默认是表的名称。",
  "Whether this trigger is on.": "是否启用此触发器。",
  "Further keys of the trigger.": "触发器的其他设置。",
  "Which answers are spoken too: none, those to voice messages, or all.":
    "哪些回答同时用语音：无、对语音消息的回答，或全部。",
  "Mark answers that claim what no call of their run could have done.":
    "标记声称做了某事、但其运行中没有任何调用可能做到的回答。",
  "Whether runs are marked whose answer claims what no call could have done.":
    "是否标记这样的运行：回答声称做了某事，但没有任何调用可能做到。",
  "Whether the model is told once before such an answer is given, to do it or say so.":
    "是否在发出这样的回答之前告诉模型一次，让它去做或如实说明。",
  "Send a trace of every run to a collector.": "将每次运行的追踪发送到收集器。",
  "Address for traces, as http://127.0.0.1:4318/v1/traces. Empty: OTEL_* variables.":
    "追踪的地址，例如 http://127.0.0.1:4318/v1/traces。留空：使用 OTEL_* 变量。",
  "Sent as `Authorization: Bearer`. Other headers: OTEL_EXPORTER_OTLP_HEADERS.":
    "作为 `Authorization: Bearer` 发送。其他请求头：OTEL_EXPORTER_OTLP_HEADERS。",
  "Send messages, arguments and results of tools too, without known secrets.":
    "同时发送消息以及工具的参数和结果，其中已知的密钥会被移除。",
  "Tell models, MCP servers and commands the trace, and continue those of programs.":
    "把追踪告知模型、MCP 服务器和命令，并延续程序的追踪。",
  "How often ended runs are looked for.": "多久查找一次已结束的运行。",
  "Traces of runs for a collector (OpenTelemetry).": "发送给收集器的运行追踪（OpenTelemetry）。",
  "Long content from outside is read by a model call without tools.":
    "由不带工具的模型调用读取来自外部的长内容。",
  "Model that reads it. Empty: the default model.": "用于读取的模型。留空：默认模型。",
  "Longest result with content from outside that is shown.": "直接显示的外部内容结果的最大长度。",
  "Tools that an owner has to accept: new and changed ones, all, or none.":
    "需要所有者接受的工具：新增和更改的、全部，或无。",
  "Model that speaks.": "用于发声的模型。",
  "Voice that the model uses.": "模型使用的声音。",
  "Longest answer that is spoken.": "用语音播报的回答最大长度。",
  "Age at which entries of conversations move into archive files. 0: never.":
    "对话条目移入归档文件的天数。0：从不。",
  "Folder of the archive files.": "归档文件所在文件夹。",
  "Sandbox of commands. auto: bubblewrap; where it does not work, each command needs an approval. bwrap: bubblewrap, or no command runs. off: none; each command needs an approval.":
    "命令的沙箱。auto：bubblewrap；不可用时每条命令都需要批准。bwrap：只用 bubblewrap，否则不运行命令。off：没有沙箱，每条命令都需要批准。",
  "What commands reach: the listed hosts, nothing, or everything.":
    "命令可访问的网络：列出的主机、无，或全部。",
  "Hosts that commands reach without asking, as in example.org, *.example.org or example.org:8443. registries: package registries and code hosts; *: every public host.":
    "命令无需询问即可访问的主机，例如 example.org、*.example.org 或 example.org:8443。registries：软件包仓库和代码托管站点；*：所有公共主机。",
  "How long a command may run.": "命令最长运行时间。",
  "How long a background command may run.": "后台命令最长运行时间。",
  "Whether the model may fetch web pages.": "模型是否可以读取网页。",
  "Search service of the model. auto: the first one that is configured, else ddgs, which needs no key.":
    "模型使用的搜索服务。auto：第一个已配置的服务，否则用不需要密钥的 ddgs。",
  "API key of Brave Search.": "Brave Search 的 API 密钥。",
  "Base URL of Brave Search.": "Brave Search 的接口地址。",
  "API key of Tavily.": "Tavily 的 API 密钥。",
  "Base URL of Tavily.": "Tavily 的接口地址。",
  "Address of a SearXNG server; its search.formats must contain json.":
    "SearXNG 服务器的地址；其 search.formats 必须包含 json。",
  "Private hosts, addresses and networks that the model may reach, as in nas.home or 10.1.0.0/16.":
    "模型可以访问的私有主机、地址和网络，例如 nas.home 或 10.1.0.0/16。",
  "Proxy for web pages and searches. It resolves names itself, so it must refuse private addresses.":
    "访问网页和搜索所用的代理。域名由它自己解析，所以它必须拒绝私有地址。",
  "Commands of the model.": "模型的命令。",
  "Web search and web pages.": "网页搜索与网页。",
  "Skills that are not shown to the model.": "不展示给模型的技能。",
  "Whether this server is connected.": "是否连接此服务器。",
  "Program to start.": "要启动的程序。",
  "Arguments of the program.": "程序的参数。",
  "Environment of the program, in addition to PATH and HOME.":
    "程序的环境变量（PATH 和 HOME 之外）。",
  "Whether the program runs in a sandbox.": "程序是否在沙箱中运行。",
  "Folders that the program may read.": "程序可读取的文件夹。",
  "Folders that the program may write to.": "程序可写入的文件夹。",
  "What the program reaches: the listed hosts, nothing, or everything.":
    "程序可访问的网络：列出的主机、无，或全部。",
  "Hosts that the program reaches.": "程序可访问的主机。",
  "Address of the server.": "服务器地址。",
  "Headers that go with every request.": "每个请求附带的请求头。",
  "How long a call may take.": "一次调用的最长时间。",
  "Patterns of the tools that are offered.": "可提供的工具模式。",
  "Whether members may use the tools too.": "成员是否也可使用这些工具。",
  "What happens to a call: it is allowed, asked about, or denied.":
    "对调用的处理：允许、询问，或拒绝。",
  "Pattern of the tool's name.": "工具名的模式。",
  "Patterns of arguments.": "参数的模式。",
  "Roles of the person who asks. Empty: any.": "提出请求者的角色。留空：任意。",
  "Patterns of channels. Empty: any.": "频道的模式。留空：任意。",
  "Patterns of chats. Empty: any.": "聊天的模式。留空：任意。",
  "Whether the conversation has content from outside. Unset: either.":
    "对话是否含有外部内容。不设：都可以。",
  "Whether the call writes to another chat. Unset: either.": "调用是否写入其他聊天。不设：都可以。",
  "Reason that people are told.": "告知人们的理由。",
  "Rules for calls of tools; the first that matches decides.": "工具调用规则；第一条匹配的生效。",
  "Hosts that even conversations with content from outside may ask.":
    "即使对话含有外部内容也可访问的主机。",
  "People who may approve calls, in addition to owners.": "除所有者外可以批准调用的人。",
  "How long an approval waits for an answer.": "批准请求等待答复的时间。",
  "How long a question of the assistant waits for an answer.": "助手的提问等待答复的时间。",
  "How long running answers may continue when the gateway is told to stop.":
    "网关收到停止指令后，进行中的回答还可持续多久。",
  "Who answers, and the limits of a run.": "由谁回答，以及一次运行的限制。",
  "Ways to reach models.": "连接模型的方式。",
  "Chat platforms.": "聊天平台。",
  "Spoken answers.": "语音回答。",
  "The page and the HTTP API.": "页面与 HTTP API。",
  "What the model can do.": "模型能做什么。",
  "Memory beyond a conversation.": "对话之外的记忆。",
  "Which calls need an approval.": "哪些调用需要批准。",
  "What happens at the start and the end.": "启动与停止时做什么。",
  "What may be spent in a day.": "一天可以花费多少。",
  "Instructions that the model can load.": "模型可加载的技能。",
  "Servers of the Model Context Protocol.": "MCP 服务器。",
  "Looking after HEARTBEAT.md.": "定期处理 HEARTBEAT.md。",
  "Webhooks from other services.": "来自其他服务的 webhook。",
  "Watches this machine.": "在这台机器上监视什么。",
  "Limits notifications.": "主动消息的数量。",
  "Notices and answers to commands in the language of each chat.":
    "通知和命令答复使用每个聊天的语言。",
  "Language of notices where neither chat nor platform names one.":
    "聊天和平台都没有指明语言时，通知所用的语言。",
  "Triggers of packages.": "扩展包的触发器。",
  "Deleting conversations permanently, and archiving old entries.": "永久删除对话，并归档旧条目。",
  "Database, as sqlite:///PATH or postgresql://... Empty: state.db in the home.":
    "数据库，写作 sqlite:///PATH 或 postgresql://...。留空：主目录中的 state.db。",
  "Schema of this assistant in PostgreSQL, so that several can share a database. Empty: that of the URL.":
    "此助手在 PostgreSQL 中的模式（schema），使多个助手可以共用一个数据库。留空：URL 中的模式。",
  "The assistant's folder. Empty: workspace/ in the home.":
    "助手的文件夹。留空：主目录中的 workspace/。",
  "Where files of messages are kept: a folder, or s3://BUCKET/PREFIX. Empty: blobs/ in the home.":
    "消息文件的存放处：文件夹或 s3://BUCKET/PREFIX。留空：主目录中的 blobs/。",
  "s": "秒",
  "tokens": "token",
  "messages": "条",
  "characters": "字符",
  "calls": "次",
  "days": "天",
  "h": "点",
  "How the log is written on standard error.": "标准错误输出上的日志格式。",
  "Which capabilities are on.": "启用哪些功能。",
  "Plugins that are switched off, by name.": "已关闭的插件（按名称）。",
};
