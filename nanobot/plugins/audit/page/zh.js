/** 中文。 English is the key. */

export default {
  "Tool": "工具",
  "Which rule decides?": "由哪条规则决定？",
  "Its arguments": "参数",
  "A command, a path, or JSON": "命令、路径或 JSON",
  "For a run of": "运行者",
  "It has seen something from outside": "它看过外部内容",
  "Ask the policy": "询问策略",
  "It is done": "直接执行",
  "A person is asked": "先询问人",
  "It is denied": "拒绝执行",
  "Verdict": "裁定",
  "Rule": "规则",
  "Because": "原因",
  "What attackers could reach": "攻击者可触及的内容",
};
