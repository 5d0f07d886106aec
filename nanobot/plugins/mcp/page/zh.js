/** 中文。 English is the key. */

export default {
  "It holds from the next start on.": "下次启动后生效。",
  "None is configured: nanobot mcp add connects one.": "尚未配置：用 nanobot mcp add 连接。",
  "{n} tools": "{n} 个工具",
  "Use {name}": "使用 {name}",
};
